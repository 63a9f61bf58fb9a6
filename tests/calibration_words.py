"""Words that notes of calibration tests speak of, and others that they do not."""

PLACES = (
    "anchor basin canvas delta engine fabric garden harbor island journal kernel lantern meadow needle orbit "
    "pepper quartz rudder saddle timber urchin velvet walnut yonder zipper bellow cactus dagger ember falcon "
    "goblet hammer igloo jigsaw kettle"
).split()
ELSEWHERE = (
    "abbot badger camel donkey eagle ferret gibbon heron ibex jackal koala lemur magpie newt otter "
    "panda quail raven stork tapir urial viper weasel yak zebra bison coyote dingo ermine finch gecko hyena impala"
).split()
