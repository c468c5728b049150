"""House move: how big the home is, where it goes and when. Only for evaluation."""

TABLE = r"""
title house move
unseen
field home_size critical required
noun the size of the home
ask How big is the home? / How many rooms have to be moved?
cues how (?:big|large|many rooms|many square|much (?:stuff|furniture))|(?:home |flat |house |apartment )?size|rooms?
cues bedrooms?|square (?:metres|meters|feet)|(?:what|which) (?:kind|size|type) of (?:home|flat|house|apartment)
cues studio
value studio: out of a studio / from a single room
value two rooms: out of a two-room flat / from two rooms
value four rooms: out of a four-room flat / from four rooms
value house: out of a whole house / from a house with a cellar
field move_date critical required
noun the moving day
ask When do you want to move? / What is the moving date?
cues when|(?:what|which) (?:date|day|week|month)|(?:moving |move )?dates?|how soon|moving day
weak day
value this weekend: this weekend / on Saturday or Sunday of this week
value mid month: in the middle of the month / around the fifteenth
value end of month: at the end of the month / on the last day of the month
value flexible: on any day / whichever day suits you
field distance critical required
noun the distance
ask How far is the new home? / Where are you moving to?
cues how far|distances?|where (?:to|are|is|will)(?: (?:you|it|the new \w+))?(?: (?:moving|going))?|destination
cues new (?:home|address|place|flat|city)|(?:what|which) (?:city|town|country)|kilomet(?:res|ers)|miles|abroad
cues move to|same city
weak where
value same street: to a place on the same street / just a few doors down
value same city: across town / to the other end of the city
value other city: to another city / to a city hours away
value abroad: to another country / across the border
field packing critical
noun the packing
ask Who does the packing? / Should we pack for you?
cues pack(?:s|ing|ed)?|box(?:es|ed)?|cartons|wrap(?:ping|ped)?
value by us: I pack everything myself / the boxes will be ready, packed by me
value by movers: your people do the packing / please pack it all for me
value fragile only: you pack just what breaks / only the glass is for you to pack
field extras
noun special items
ask Are there any special items? / Is there a piano, an aquarium or a safe?
cues special(?: \w+)?|pianos?|heavy(?: \w+)?|bulky|valuables|aquarium|safe|fragile|antiques|unusual(?: \w+)?|extras?
value none: nothing special / only ordinary furniture
value piano: with a piano / and there is a grand piano
value aquarium: with an aquarium / and there is a fish tank
value safe: with a heavy safe / and there is a steel safe
say We are moving: {facts}.
say I need movers, {facts}.
say Please quote me a move, {facts}.
say Help me change homes: {facts}.
say There is a household to move, {facts}.
say Can you get my things moved? {facts}.
say A move is coming up, {facts}.
say I would like to book a removal: {facts}.
say Kindly plan my removal, {facts}.
say Get my furniture to the new place: {facts}.
say My lease is up, so I move. {facts}.
say Our household has to go elsewhere: {facts}.
beyond Please file my tax return.
beyond Tune the strings of my violin.
beyond Tell me a joke about penguins.
beyond Do my maths homework.
beyond Buy me tickets for the opera.
beyond Find me a new job.
act throw away everything in the cellar
act give all my books to charity for good
act cancel my old lease at once
act have the old furniture shredded
"""
