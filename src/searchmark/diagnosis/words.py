"""Common English words: no misspelling, even where a corpus has never seen them.

Without this list, "what can I cook" would be taken for "what can I book" where a corpus knows
only the second. It holds base and irregular forms; the others are told by their stems.
"""

from collections.abc import Iterator
from functools import cache

from searchmark.diagnosis.lexicon import inflects, stem
from searchmark.retrieval.stopwords import ENGLISH

_WORDS = """
    ability able above absence accept access accessible accident account accumulate acquisition
    across act action active activity actor actress actual ad add additional address admin
    administration admit adult advance advantage advice advise affect afford afraid africa after
    afternoon again age agency aggregate ago agree ahead ai aid aim ain air airport alarm album
    alert alive allergy allow almost alone along already also alter although always am amaze
    ambition america among amount an analyse analyses analysis analyst analytics analyze ancient
    android anger angle angry animal anniversary announce annual another answer anxious any
    anybody anyone anything anyway anywhere apart apartment api apology app appear appearance
    apple application apply appoint approach april arabic area aren argentina argue arise arm army
    arose around arrange arrive art article artist asia ask asleep assist assistance asthma ate
    atm attack attempt attend attraction audience audio august aunt australia austria author
    authority auto automatic automatically autumn availability available average avoid awake award
    aware away awoke baby back bad bag baggage bake balance ball band bangladesh bank bar base
    basic basis basket bath battery battle beach bear beat beaten beautiful beauty became become
    bed bedroom bee beef been beer began begin beginner begun behave behavior behaviour behind
    belgium belief believe bell belong belt bench bend benefit bengali bent berlin best bet better
    beyond bicycle big bike bill bin bio bird birth birthday bit bite bitten black blame blanket
    bled bleed blew blind block blog blood blow blown blue board boat body boil bomb bond bone
    book boot border bore born borrow boss bother bottle bottom bought bound bowl box boy brain
    brake branch brand brave brazil bread break breakfast breath breathe bred brick bridge brief
    bright bring broad broke broken brother brought brown brush bubble bucket budget bug build
    building built bullion burn burnt bus business busy butter button buy buyer cable cake
    calculate calendar call calm calorie came camera camp can canada cancel cancer candle cannot
    capable capacity card care career careful carry cart case cash cast castle cat catalog
    catalogue catch category caught cause cd ceiling celebrate cell cent center centre century ceo
    certain certification chain chair challenge chance change channel chapter character charge
    charity chart chase chat cheap cheat check cheer cheese chef chemist cheque chess chest
    chicken chief child children china chinese chip chocolate choice choose chose chosen christmas
    church cinema circle city claim clarification class classification clean clear clerk clever
    click client climate climb clinic clock close cloth clothes cloud club clung coach coal coast
    coat code coffee coin cold collar collect college color colour column com combination combine
    come comedy comfort comfortable command comment commercial common community commute commuter
    company compare compete competition complain complete complexity compose composer composition
    computer concentration concern concert condition conference confirm connect consequence
    conservation consider consistent consolidate construction contact contain content contest
    continue contract control convenience conversation conversion convert cook cookie cool
    cooperation copy corn corner corporation correct cost cotton cough could couldn count country
    couple course court cousin cover cow cpu crack craft crash crazy cream create credit crept
    crime crisis criterion crm cross crowd cruel cry css culture cup cure curiosity curious
    currency current curriculum curtain customer cut cute cv cycle czech dad daily damage damp
    dance danger danish dare dark data date daughter day dead deadline deaf deal dealt dear death
    debt decade december decide decision declaration decoration deduction deep deer default
    defence defend defense define definition degree delay delete delicious deliver delivery demand
    demo demonstration denmark density dentist deny depend depth describe description desert
    deserve design desk destination destruction detail detect determination develop device
    diabetes diagnosis dialogue diary did didn die dies diet differ difference different difficult
    dig dinner direct director dirty disappear discount discover discuss disease dish display
    distance distraction divide division divorce diy dna doctor document doesn dog doll dollar
    domination don done door double doubt down download downstream dozen drag drama drank draw
    drawn dream dress drew drink drive driven driver drop drove drug drunk dry duck due dug dull
    dumb dust dutch duty dvd dying dynamic each eager ear early earn earth ease easier east easter
    easy eat eaten edge edit educate educational effect effective efficiency efficient effort egg
    egypt eight either elder eldest elect electric electricity eliminate else email embarrass
    emergency emotion emotional emphasis employ empty end enemy energy engine england english
    enjoy enough enrol enter entire entrance entry episode equal equip erp error escape especially
    essay estimate euro europe evaluate even evening event ever every everybody everyone
    everything everywhere evidence evil exact exam examination example excel except exchange
    excite excuse exercise exhibition exist existence exit expansion expect expensive experience
    expert expiration explain explanation exploration explore explosion express extension extra
    extraction eye face fact factory fail fair faith fake fall fallen false family famous fan
    fancy faq far fare farm fashion fast fat father fault favorite favour favourite fear feature
    february fed fee feed feel feet fell fellow felt female fence few field fifteen fifth fifty
    fight figure file fill film filter final finance financial find fine finger finish finland
    finnish fire firm first fish fit five fix flag flat flavour fled flew flexible flight float
    flood floor flour flow flower flown flu fly focus fold folder follow food fool foot football
    forbidden force foreign forest forever forgave forget forgive forgiven forgot forgotten fork
    form formal former forward fought found four frame france free freeze french frequency fresh
    friday fridge friend frog from front froze frozen fruit fry fuel full fun fund funny furniture
    further furthest future gain game gang gap garage garbage garden gas gate gather gave geese
    gender general generation gentle german get ghost giant gift girl give given glad glass glove
    go goal goat god gold golf gone gonna good goodbye got gotten govern gps gpu grab grade grand
    grandfather grandmother grass grateful grave gray great greece greek green grew grey ground
    group grow grown guard guess guest guide guideline guilty guitar gun guy habit hadn hair half
    hall hand handle hang happen happy hard harm hasn hat hate haven hd head headache headline
    heal health hear heard heart heat heaven heavy hebrew height held hello help hen here hero hid
    hidden hide high highway hike hill hindi hip hire history hit hobby hold hole holiday holy
    home homework honest honey honor honour hope horn horrible horror horse hospital host hot
    hotel hour house however html http https huge human humor humour hundred hung hungarian
    hungary hungry hunt hurry hurt husband hypothesis ice icon id idea identification identify
    identity ignorance ignore ill illustration image imagination imagine importance important
    impossible improve inch include income increase indeed india indonesian indoor induction
    influence info inform injure ink insect inside inspiration install instead instruction
    insurance insure integrate intelligence intensity interest international internet into
    introduction invest invisible invitation invite ios ip iran iraq ireland iron island isn
    israel issue italian italy item jacket jail jam january japan japanese jar jazz jealous jeans
    jet jewel jewellery jewelry job join joke journey joy js judge juice july jump june jury just
    justification keen keep kenya kept key keyboard kick kid kill kilo kilometer kilometre kind
    king kiss kitchen knee knelt knew knife knock know knowledge known korea korean label labour
    lack ladder lady laid lain lake lamp land language laptop large last late later latin laugh
    launch law lawyer lay lazy lead leader leaf leak leant learn learnt least leather leave leaves
    led left leg legal lemon lend length lens lent less lesson let letter level library licence
    license lie life lift light like limit line link linux lion lip liquid list listen lit liter
    literature litre little live lives ll load loan local lock log logo london lonely long look
    loop lose loss lost lot lottery loud love low loyal luck lucky luggage lunch lung lying mac
    machine mad made madrid magazine magic mail main mainstream maintenance majority make male man
    manage manager manual many map march mark market marriage marry mass match mate material math
    matter maximise maximize may maybe meal mean meant measure meat media medical medicine meet
    meeting melt member memory men mend mental menu merge mess message met metal meter method
    metre mexico mice middle midnight might mild mile milk mill million mind mine mini minimise
    minimize minority minute mirror miss mistake mistaken mix mobile mode model modern
    modification mom moment monday money monitor month mood moon moral more morning mortgage most
    mother motor mould mountain mouse mouth move movie mown much mud multiplication multiply mum
    murder muscle museum music must mystery nail name narrow nation national native nature near
    nearby nearly neat neck need needle negative neighbor neighbour neighbourhood neither nephew
    nerve nervous nest net network never new news next nice niece nigeria night nine nobody noise
    nomination none noon normal north norway norwegian nose note nothing notice notification novel
    november now nowhere number nurse nut oak object observation observe obvious occur ocean
    october odd off offer office officer offline often oil ok old once one onion online open
    operate operation opinion opportunity opposite opposition optimise optimize option orange
    orchestra order org organ organise organize origin other ought outdoor outside oven over owe
    own owner oxygen pack package paediatric page paid pain paint pair pakistan pan panic pants
    paper parcel parent paris park part partner party pass passage passenger passport past paste
    path patient pattern pause pay payment pc pdf peace pen pencil people pepper per percent
    perfect perform performance perhaps period permission permit persian person personal pet
    petition phenomenon phone photo piano pick picnic picture pie piece pig pill pilot pin pink
    pipe pipeline pizza place plain plan plane planet plant plastic plate play player please
    plenty plug plus pocket poem poet point poison poland pole police policy polish polite pool
    poor pop popular pork port portugal portuguese position possibility possible post pot potato
    pound pour power practice practise pray predict prefer preference pregnancy pregnant
    preparation prepare prequel presence present president press pretty prevent price pride priest
    prime prince princess print prioritise prioritize prison private privilege prize proactive
    problem process produce product production professional profit program programme project
    promise pronounce pronunciation proof proper proposition protect protein proud prove proven
    provide provision public publication publicity pull pump punish punjabi pupil pure purple
    purpose purse push put puzzle qr qualification quality quantity quarter queen question quick
    quickly quiet quit quite quiz rabbit race radio rain raise ran random rang range rare rate
    rather raw re reach reactive read ready real realise realize really reason receipt receive
    recent reception recipe recognise recognition recognize record recover red reduce reduction
    refer reference refund refuse regional registration regret regular relate relax release relief
    religion remain remember remind remote remove rent repair repeat repetition replace reply
    report rescue research reservation reserve resistance responsibility responsible rest
    restaurant result retire return review revision reward rice rich rid ridden ride right ring
    rise risen risk rival river road roast rob robust rock rode role roll romanian rome roof room
    root rope rose rotten rough round route row royal rub rubber rubbish rude ruin rule rumor
    rumour run rung rush russia russian sad safe said sail salad salary sale salt same sand
    sandwich sang sank sat satisfaction satisfy saturday sauce save saw say scale scare scene
    sceptical schedule school science score scotland scratch scream screen sea seal search season
    seat second secret section secure security seduction see seed seek seem seen sell send sense
    sensible sent sentence seo separate separation september sequel sequence serial series serious
    serve service set settle setup seven several sew sewn sex shade shadow shake shaken shall
    shame shape share sharp shave shaved sheep sheet shelf shell shelter shift shine ship shirt
    shock shoe shone shook shoot shop shore short shot should shoulder shouldn shout show shower
    shown shrank shrunk shut shy sick side sight sign signal silence silk silly silver similar
    simple simplicity simulate since sing singer single sink sister sit site situation six size
    skeleton skeptical skill skin skirt sky skyline sleep sleeve slept slice slid slide slip slow
    small smart smell smile smoke smooth sms snack snake snow soap social sock soft soil sold
    soldier solid solution solve some somebody someone something sometimes somewhere son song soon
    sorry sort sought soul sound soup sour south space spain spanish spare spat speak special
    specification sped speech speed spell spelt spend spent spice spider spilt spin spirit split
    spoke spoken spoon sport spot sprang spread spring spun square staff stage stair stale stamp
    stand star start starve state static station stay steak steal steam steel steep step stick
    still stimulate sting stock stole stolen stomach stone stood stop storage store storey storm
    story stove straight strange stranger stream streamline street strength stress stretch strict
    strike string strip strong struck stuck student study stuff stung stupid style subject
    subscription succeed success such sudden suffer sufficient sugar suggest suit suitable
    summarise summarize summer sun sunday sung sunk super supervision supper supply support
    suppose sure surface surgery surprise swahili swam swap sweat sweden swedish sweet swept swim
    swing switch swollen swore sworn swum swung symbol symphony symptom synchronise synchronize
    synthesis system table tail take taken tale talk tall tamil tank tap tape target task taste
    taught tax taxi tea teach teacher team tear tech teen teenager teeth television tell telugu
    temper temple ten tend tendency tennis tension tent term terrible test text thai thailand
    thank thanks theater theatre theft theme theory therapy thesis thick thief thin thing think
    third thirsty thirty thought thousand thread threat three threw throat through throw thrown
    thumb thunder thursday ticket tidy tie tight till time timeline tiny tip tire tired title
    toast today toe together toilet tokyo told tolerance tomato tomorrow tone tongue tonight tonne
    took tool tooth top topic tore torn total touch tough tour toward towel tower town toy trace
    track trade tradition traditional traffic trailer train transfer transition translate trap
    trash travel traveller travelling treat tree trick trip trod trouble truck true trunk trust
    truth try tube tuesday tune turkey turkish turn tutorial tv twelve twenty twice twin two tying
    type typo tyre ugly uk ukrainian umbrella uncle under understand understood undertook undo
    undone unhappy unique unit university unknown unless until update upgrade upload upper upset
    upstairs upstream urban urdu urge url us usa usb use useful useless user usual vacation
    vaccine valley value van vapor vapour various vast ve vegetable vehicle velocity verification
    version very via video vietnam vietnamese view village violence visa visible visit visitor
    vitamin voice volume vote vpn vs wage wait wake wales walk wall wallet wanna want war warm
    warn wash wasn waste watch water wave way weak wealth weapon wear weather web website wed
    wedding wednesday week weekend weigh weight welcome well went wept weren west wet whatever
    wheat wheel whenever wherever whether whole whose wide wife wifi wild will win wind window
    wine wing winner winter wipe wire wise wish withdrew without woke woken wolf woman women won
    wonder wood wool word wore work worker world worn worry worse worst worth would wouldn wound
    wove woven wrap write writer written wrong wrote www yard year yell yellow yes yesterday yet
    york young youth zero zip zone zoo
"""

COMMON = ENGLISH | frozenset(_WORDS.split())
"""Some 2,600 words, written down for this purpose."""


def is_common(word: str) -> bool:
    """Tell whether a word in lower case is an inflection of a common English word."""
    return inflects(word, COMMON, _stems()) or any(base in COMMON for base in _bases(word))


def _bases(word: str) -> Iterator[str]:
    """Yield the word itself and what it may be the comparative of; the stemmer leaves those be."""
    yield word
    for ending in ("er", "est"):
        base = word.removesuffix(ending)
        if base != word:
            yield from (base, base + "e")  # cheap, large
            if base[-1:] == "i":
                yield base[:-1] + "y"  # easy
            elif base[-2:-1] == base[-1:]:
                yield base[:-1]  # big


@cache
def _stems() -> frozenset[str]:
    return frozenset(map(stem, COMMON))
