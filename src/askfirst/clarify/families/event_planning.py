"""Event planning: what kind of party, for how many, where and when."""

TABLE = r"""
title event planning
field event_type critical required
noun the occasion
ask What kind of event is it? / What is the occasion?
cues (?:what|which) (?:kind|type|sort) of (?:an? )?(?:event|party|celebration|occasion|gathering|do)|occasions?
cues event types?
cues (?:what|who) (?:are|is) (?:we|you|it|being) (?:celebrating|celebrated)|celebrating
cues what(?:'s| is) (?:it|this|the (?:party|event|celebration)) (?:for|in aid of|about)|reason for
cues what (?:the|this|your) \w+ is (?:for|about)
cues is (?:it|this) (?:for )?a (?:birthday|farewell|wedding|graduation|reunion)
value birthday: a birthday / somebody turning a year older / a birthday bash / a birthday celebration
also birthday: it is a birthday, so a bash / somebody has a birthday, a celebration of it
value farewell: a farewell / a leaving do / a goodbye party / a send-off
also farewell: to say goodbye to a colleague / we send off a friend who is leaving
value anniversary: an anniversary / a celebration of many years together / a wedding anniversary / our anniversary
also anniversary: many years of wedding to celebrate / it is our wedding day again
value graduation: a graduation / somebody finishing their degree / a graduation party / a degree celebration
also graduation: a degree is done / one of us has a new degree, a graduation
value reunion: a reunion / old friends meeting again / a get-together of old classmates / a family reunion
also reunion: the old class meets again / classmates of old / the family comes together again
field guest_count critical required
noun the number of guests
ask How many people are coming? / How many guests should I plan for?
cues how many(?: (?:people|guests|persons|of you|attendees|friends|invitees|folks|heads|seats|chairs|adults))?
cues number of (?:people|guests|attendees)|guest counts?|head ?count|group size
cues how (?:big|large)(?: (?:is|will|a))?(?: the)?(?: (?:party|group|crowd))?|size of the (?:party|group|crowd)
weak guests?|group|crowd
value 5: for 5 people / for five of us / five guests / a group of five
also 5: five people / five will come / guests: five
value 10: for 10 people / for ten of us / ten guests / a group of ten
also 10: ten people / ten will come / guests: ten
value 20: for 20 people / for twenty of us / twenty guests / about 20 people
also 20: twenty people / twenty will come / about twenty guests
value 50: for 50 people / for fifty of us / fifty guests / a crowd of 50
also 50: fifty people / fifty will come / a crowd, fifty or so
value 100: for 100 people / for a hundred of us / a hundred guests / about 100 people
also 100: a hundred people / a hundred will come / about a hundred guests
field date critical required
noun the date
ask When is it? / What date should I plan for?
cues when|(?:what|which) (?:date|day|week|evening|weekend)|dates?|what day|how soon
value today: today / later today / this very day / before today is over
also today: this day, today / before this day is over
value tomorrow: tomorrow / the day after today / in a day from now / tomorrow evening
also tomorrow: one day from now / tomorrow, a day from today
value this week: this week / some day this week / before the week is out / in the course of this week
also this week: before this week is out / in the course of the next few days of this week
value next week: next week / some day next week / a week from now / in the week after this one
also next week: from now in a week / in the week after this week
field venue critical required
noun the venue
ask Where should it be? / Which venue do you want?
cues where(?:abouts)?|venues?|locations?|(?:what|which) (?:place|location|spot)|indoors|outdoors|outside
weak place
value restaurant: in a restaurant / at a place that serves dinner / at a bistro / at a restaurant table
also restaurant: at the bistro / we take a table at the bistro down the road
value home: at home / at my place / in my living room / in our own flat
also home: in the living room / our flat will do / in my flat
value office: at the office / at my work / on the office floor / in the office kitchen
also office: in the kitchen at work / on our floor at work
value outdoor: outdoors / in the open air / out in the park / outside in the garden
also outdoor: in the park / in the garden / outside somewhere
value rented hall: in a rented hall / in a hall that we hire / in a hired hall / in a hall for rent
also rented hall: we hire a hall / a hall, hired or for rent
field budget_band
noun the budget
ask What is your budget? / How much may it cost?
cues budgets?|how much(?: (?:money|can|may|should|do|are|would|will))?|spend(?:ing)?|cost|price range|afford|expensive
value under 200: for less than 200 / on a shoestring of under 200 / below 200 all in / at most 200 in all
also under 200: not above 200 / 200 at most, better below
value 200 to 500: for 200 to 500 / for a few hundred, 500 at most / between 200 and 500 / 200 at least and 500 at most
also 200 to 500: no more than 500 and no less than 200 / 200 or more, up to 500
value 500 to 2000: for 500 to 2000 / from 500 up to 2000 / between 500 and 2000 / 500 at least and 2000 at most
also 500 to 2000: no more than 2000 and no less than 500 / 500 or more, up to 2000
value over 2000: for more than 2000 / for 2000 and up / above 2000 / no less than 2000
also over 2000: 2000 or above / not less than 2000
field theme
noun the theme
ask Is there a theme? / What theme do you want?
cues themes?|decorations?|decor|(?:what|particular|certain|special) style|dress code|motif|look and feel
value none: without a theme / no theme at all / with no theme whatever / plain, no theme
also none: no theme / plain, without theme
value garden: with a garden theme / all flowers and green / in garden style / garden as the theme
also garden: a theme of gardens / flowers as the theme
value retro: with a retro theme / all in the style of the eighties / in retro style / retro as the theme
also retro: a retro style / the theme is retro
value masquerade: with a masquerade theme / everybody in a mask / in masquerade style / masquerade as the theme
also masquerade: a masquerade / masks as the theme
field dietary_constraints
noun the diets
ask Are there any dietary restrictions? / Does anybody have a diet or an allergy?
cues diet(?:s|ary)?(?: \w+)?|allerg(?:y|ies|ic)|vegetarians?|vegans?|gluten(?:.free)?|eat|food(?: \w+)?
cues intoleran(?:ce|ces|t)
value none: everybody eats everything / no diets / with no dietary needs / nobody with a diet
also none: no needs / a diet has nobody
value vegetarian: vegetarian food / no meat / meat-free food / all vegetarian
also vegetarian: food without meat / vegetarian, all of it
value vegan: vegan food / nothing from animals / plant-based food / all vegan
also vegan: food from plants / vegan, all of it
value gluten free: gluten-free food / no gluten / food without any gluten / all gluten free
also gluten free: free of gluten / without gluten, all of it
say Please plan a get-together for me: {facts}.
say I would like your help with a party, {facts}.
say Can you organise something for us? Here is what I know: {facts}.
say We are having people over, {facts}. Please sort it out.
say Set up a celebration, {facts}.
say There is something to celebrate: {facts}. Can you take care of it?
say I need an event planned: {facts}.
say Could you put a party together, {facts}?
say Help me get a celebration off the ground: {facts}.
say Time for a party, {facts}. Over to you.
say A party needs planning: {facts}.
say Kindly arrange a celebration for me, {facts}.
beyond Please book me a flight to Lisbon.
beyond What is seventeen times twenty-three?
beyond Fix the tap in my kitchen, it drips.
beyond Translate my lease into Spanish.
beyond Tell me who will win the election.
beyond Find out why my laptop will not start.
act cancel our old booking for good
act uninvite everybody on the old list
act throw away the plan of last year
act delete all replies that came in so far
"""
