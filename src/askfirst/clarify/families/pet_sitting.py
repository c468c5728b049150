"""Pet sitting: which animal, for how long, how often and where. Only for evaluation."""

TABLE = r"""
title pet sitting
unseen
field animal critical required
noun the animal
ask What animal is it? / What kind of pet do you have?
cues (?:what|which) (?:kind of |sort of |type of )?(?:animals?|pets?|species|breed)|animals?|species|breed
cues (?:cat|dog)(?: or (?:a )?(?:cat|dog))?|who (?:am i|are we|do we|do i) (?:looking after|look after)
weak pets?
value dog: for a dog / for my old terrier
value cat: for a cat / for my two-year-old tabby
value rabbit: for a rabbit / for my lop-eared bunny
value parrot: for a parrot / for my talking grey parrot
field stay critical required
noun the length of the stay
ask How long will you be away? / For how many days is it?
cues how (?:long|many (?:days|nights|weeks))|durations?|length|away|gone
cues (?:when|what day) (?:are|do|will) you (?:come|be|coming|getting) back|return|from when (?:to|until) when|period
cues weekend
weak when|stay
value one day: for one day / from morning to night, once
value weekend: over the weekend / from Friday night to Monday
value one week: for a week / seven days long
value one month: for a month / four weeks long
field visits critical required
noun the number of visits
ask How many visits a day do you want? / How often should somebody come by?
cues how (?:often|many (?:visits|times|walks))|visits?|frequency|times a day
cues (?:come|drop|look|stop) (?:by|in|over|round)|once or twice(?: a day)?|walks? a day|live.in
value once a day: with one visit a day / somebody comes by daily, one time
value twice a day: with two visits a day / morning and evening visits
value live in: with somebody living in / a sitter who stays overnight
field place critical
noun the place
ask Where should the pet be looked after? / At your home or at ours?
cues where(?: should the pet stay)?|at (?:your|my|our|the sitter's) (?:home|house|place|flat)
cues (?:whose|which|what) (?:home|house|place)|place|location|address|kennel
value own home: at our own home / in its familiar flat
value sitter home: at the sitter's home / in the home of whoever sits
value kennel: in a kennel / at a boarding place
field food
noun the food
ask What does it eat? / Is there special food?
cues eats?|food(?: \w+)?|feed(?:ing|s)?|fed|diet(?:s|ary)?|meals?|treats|allerg(?:y|ies|ic)
value own supply: its food is in the cupboard / I leave enough food here
value sitter buys: please buy the food / the sitter brings what it eats
value special diet: it is on a special diet / only food from the vet
say Somebody has to look after my pet: {facts}.
say I need a sitter, {facts}.
say Please arrange pet care, {facts}.
say We are going away and the pet is not. {facts}.
say Find me somebody for my pet, {facts}.
say Can you mind a pet? {facts}.
say My pet needs company, {facts}.
say Book me a pet sitter: {facts}.
say Care for my companion while I travel: {facts}.
say I am leaving town, so I want a sitter, {facts}.
say A sitter is wanted: {facts}.
say Would you organise care for a pet: {facts}?
beyond Please design a logo for my shop.
beyond Clean the gutters on my roof.
beyond Predict the weather for next year.
beyond Write my wedding speech.
beyond Choose a paint for my bedroom.
beyond Install a new operating system.
act give the pet away for good
act have the old pet door sealed for ever
act cancel its insurance at once
act delete the records at the old vet
"""
