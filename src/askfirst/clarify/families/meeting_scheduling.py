"""Meeting scheduling: who meets, on what day, at what time and for how long."""

TABLE = r"""
title meeting scheduling
field participants critical required
noun who takes part
ask Who should be there? / Who is taking part?
cues who(?:m| all| else)?|(?:which|what) (?:people|colleagues|team|person)|participants?|attendees?|invite(?:es|d)?
cues attend(?:ing)?|join(?:s|ing)?|how many (?:people|participants|attendees)|names
value design team: with the design team / with all of design / the designers should come / everybody from design
also design team: the designers / everybody who designs, from design
value sales team: with the sales team / with all of sales / the sellers should come / everybody from sales
also sales team: the sellers / everybody who sells, from sales
value my manager: with my manager / with the person I report to / my boss should come / just my superior and me
also my manager: me and my boss / my superior / just my boss
value whole company: with the whole company / with everybody who works here
value whole company: all hands should come / each and every colleague
also whole company: all hands / each of the colleagues, every one
field date critical required
noun the day
ask On what day should it be? / Which date suits you?
cues (?:what|which) (?:day|date|weekday|week)|dates?|days?|when|how soon|calendar
value monday: on Monday / the first day of the week / Monday it is / this coming Monday
also monday: Monday / the coming Monday
value wednesday: on Wednesday / in the middle of the week / Wednesday it is / this coming Wednesday
also wednesday: Wednesday / the coming Wednesday
value friday: on Friday / the last working day of the week / Friday it is / this coming Friday
also friday: Friday / the coming Friday / on the last working day
value next month: next month / after the end of this month
value next month: some day in the month after this / once this month is over
also next month: the month after / when the month is over
field time critical required
noun the time of day
ask At what time should it start? / What time of day suits you?
cues (?:what|which) (?:time|hour)(?: of (?:the )?day)?|times?(?: of (?:the )?day)?|start(?:s|ing)?(?: time)?
cues o'?clock|morning|afternoon|(?:before|after) lunch
cues when (?:exactly )?(?:does|should|will|do) (?:it|we|the \w+) (?:start|begin)(?: on the day)?
weak begin(?:s)?
cues what time (?:is|does|should|will|do)|when (?:exactly )?(?:during|in|on) the day
value 9:00: at nine / at 9 am / first thing, nine sharp / nine in the morning
also 9:00: nine o'clock, in the morning hours / at nine sharp
value 11:00: at eleven / at 11 am / before lunch, eleven sharp / eleven in the morning
also 11:00: eleven o'clock, in the morning hours / at eleven sharp, before lunch
value 14:00: at two in the afternoon / at 2 pm / after lunch, two sharp / two o'clock
also 14:00: two o'clock sharp / at two sharp, after lunch
value 16:30: at half past four / at 4:30 pm / late in the day, 4.30 sharp / four thirty
also 16:30: four thirty sharp / at 4.30, late in the afternoon
field duration_minutes critical
noun the length
ask How long should it be? / How many minutes do you need?
cues how long(?: \w+)?|how many (?:minutes|hours)|durations?|length|how much time|minutes|half an hour
weak last|long|short
value 15: for a quarter of an hour / 15 minutes / a quick 15 / fifteen minutes in all
also 15: fifteen minutes / quick, 15 or fifteen
value 30: for half an hour / 30 minutes / a brief 30 / thirty minutes in all
also 30: thirty minutes / brief, 30 or thirty
value 45: for three quarters of an hour / 45 minutes / a good 45 / forty-five minutes in all
also 45: forty-five minutes / 45, forty-five
value 60: for an hour / 60 minutes / a full 60 / sixty minutes in all
also 60: sixty minutes / a full hour, sixty
value 90: for an hour and a half / 90 minutes / a long 90 / ninety minutes in all
also 90: ninety minutes / long, 90 or ninety
field platform
noun the platform
ask Which platform should it be on? / In person or online?
cues platforms?|in.person|(?:join(?:s|ing)? )?(?:online|remotely)|remote|virtual|video(?: \w+)?|zoom|teams call
cues where|location|face.to.face|software|dial.in(?: link)?
weak call|rooms?|tool|link
value in person: face to face / in the same room / all of us in one room / in the flesh
also in person: one room for all of us / in the flesh, so to speak
value video call: on a video call / with cameras on / everybody on screen / by video link
also video call: on the screen / by a video link
value phone: on the phone / as a phone call / just a telephone call / dialled in by telephone
also phone: by telephone / a telephone call, dialled in
value chat room: in a chat room / typed, in a chat / in writing, in the chat channel / in our chat group
also chat room: in the chat group / in writing, a chat channel
say Please set up a meeting {facts}.
say We need to talk, {facts}.
say Put a meeting in the calendars: {facts}.
say I need a slot for a discussion, {facts}.
say Get us together, {facts}.
say Arrange a sync, {facts}.
say Could you schedule something: {facts}?
say Fix a meeting for me, {facts}.
say Find us a slot: {facts}.
say Let us sit down and talk, {facts}. Can you set it up?
say A meeting is due: {facts}.
say Make room for a talk, {facts}.
beyond Order new running shoes for me.
beyond Explain how volcanoes work.
beyond Sing me something cheerful.
beyond Pay my electricity bill.
beyond Paint the fence green.
beyond Tell me tomorrow's lottery numbers.
act wipe all other meetings of that day
act delete the old series for everybody
act remove everybody from the old invitation
act clear my calendar of the whole month
"""
