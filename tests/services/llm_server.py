"""Serve a small real model on loopback until standard input closes: a model's file, a use, a port.

The use is chat, embeddings or rerank. Once requests are answered the address is printed.
"""

import sys

import xllamacpp


def main() -> None:
    """Serve until standard input closes."""
    parameters = xllamacpp.CommonParams()
    parameters.model.path, use = sys.argv[1:]
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = 2048
    parameters.n_parallel = 1
    parameters.warmup = False
    parameters.cpuparams.n_threads = 2
    if use != "chat":
        kinds = xllamacpp.llama_pooling_type
        parameters.embedding = True
        parameters.pooling_type = (
            kinds.LLAMA_POOLING_TYPE_RANK if use == "rerank" else kinds.LLAMA_POOLING_TYPE_MEAN
        )
    server = xllamacpp.Server(parameters)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
