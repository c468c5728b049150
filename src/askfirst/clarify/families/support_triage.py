"""Support triage: which order, what is wrong with it, and what the customer wants."""

TABLE = """
title support triage
field order_id critical required
noun the order number
ask What is your order number? / Which order is it about?
cues (?:which|what) (?:order|purchase)|order (?:number|id|no|reference|code)s?|number of (?:the|your) order
cues reference(?: (?:number|code))?|(?:share|give|tell|have|send)(?: me)? (?:your|the) order|confirmation number
value #45210: order #45210 / the one with number 45210 / my order no 45210 / purchase 45210
also #45210: my order 45210 / number 45210, that purchase
value #45211: order #45211 / the one with number 45211 / my order no 45211 / purchase 45211
also #45211: my order 45211 / number 45211, that purchase
value #45218: order #45218 / the one with number 45218 / my order no 45218 / purchase 45218
also #45218: my order 45218 / number 45218, that purchase
value #45237: order #45237 / the one with number 45237 / my order no 45237 / purchase 45237
also #45237: my order 45237 / number 45237, that purchase
value none-provided: I have no number for the order / I bought it without an order number
value none-provided: no order number came with it / there was never an order number
also none-provided: there is no order number / the order never had a number
field item_issue critical required
noun the fault
ask What is wrong with it? / What is the problem with the item?
cues what(?:'s| is| was| went) (?:wrong|the (?:matter|problem|issue|trouble|fault))|what happened|problems?|issues?
cues faults?|faulty|defects?|damaged?|broken|describe (?:it|the item)|(?:in )?what condition|trouble
cues arrived?(?: at all)?|(?:is|are) (?:something|anything|a part|parts) missing
weak wrong|missing
value damaged: it came damaged / it arrived broken / it was smashed in the box / it has a crack right across
also damaged: it was smashed / there is a crack in it, broken right across
value wrong item: they sent the wrong thing / I got something that I had not ordered
value wrong item: it is not the item that I chose / the box had another product in it
also wrong item: the box had another item in it / it is another product than I chose
value missing part: a part is missing / one piece was not in the box
value missing part: it lacks a piece / something was left out of the box
also missing part: something is missing from the box / a piece was left out
value not delivered: it never came / it was not delivered / the parcel did not show up / nothing has been delivered
also not delivered: the parcel has not been delivered / nothing did show up
value defective: it does not work / it will not switch on / it stopped working / it is dead as a doornail
also defective: dead on arrival, it does not work / it has stopped, it is dead
field refund_or_replace critical required
noun the remedy
ask Do you want a refund or a replacement? / What would you like us to do about it?
cues refund(?:ed)?|replac(?:e|ed|ement)|money back|store credit|exchange|repair(?:ed)?
cues (?:how|what) (?:would|do|can|should) (?:you|we|i) (?:like |want )?(?:us |me )?(?:to )?(?:do|solve|resolve|fix|make)
cues resol(?:ve|ution)|remedy|make (?:it|this) right|outcome|send (?:you )?(?:a |another )(?:new|one)?(?: one)?
value refund: I want my money back / please refund me / a refund, that is all / just return what I paid
also refund: a refund / return my money
value replacement: I want a new one / please replace it / a replacement, that is all / just send another
also replacement: a replacement / send me another one
value partial refund: I want part of my money back / please refund a part of it
value partial refund: a partial refund, that is all / just return some of what I paid
also partial refund: a partial refund / return some of the money
value store credit: I want store credit / please credit my account
value store credit: credit for the shop, that is all / just give me a voucher
also store credit: credit, please / a voucher for the store
field urgency critical
noun how urgent it is
ask How urgent is it? / How soon do you need this solved?
cues urgen(?:t|cy)|how (?:soon|quickly|fast)|by when|when do you need|deadline|rush|hurry|priority|can it wait
cues time.?sensitive
value low: there is no hurry / it can wait / take your time over it / whenever you get to it
also low: no hurry, take your time / whenever there is time
value normal: in the usual time / the normal pace is fine / as quickly as you normally do / no faster than usual
also normal: the usual pace / no faster than normal
value high: it is urgent / I need it solved at once / as fast as you possibly can / this cannot wait
also high: as fast as possible, urgent / I cannot wait
field channel_preferred
noun how to reach me
ask How should we reach you? / Do you prefer email, phone or chat?
cues (?:reach|contact|call|email|phone|text|get back to|get in touch with|keep in touch with) you|e-?mail|phone|chat
cues channels?|contacted|get in touch|write to you|updates?
value email: by email / send me a mail / write to my mailbox / reply by e-mail
also email: by e-mail, please / a mail to my mailbox
value phone: by phone / give me a call / ring me up / call my number
also phone: ring me by phone / call me on my number
value chat: in the chat / message me in the chat / reply right here in chat / use the chat window
also chat: here in the chat / in this chat window
say I have a problem with something I bought: {facts}.
say Hello, this is about a purchase. {facts}.
say Please help me with my order: {facts}.
say Something went wrong with my shopping, {facts}.
say I need support. {facts}.
say I am not happy with what I bought: {facts}.
say There is trouble with a delivery, {facts}.
say Could you look into a purchase of mine? {facts}.
say I would like to complain: {facts}.
say Your shop let me down. {facts}.
say A purchase of mine needs your attention: {facts}.
say Would you deal with a complaint? {facts}.
beyond Please plan my holiday in Norway.
beyond Which share should I buy this month?
beyond Write an essay about the Romans for me.
beyond My tooth hurts, what should I take?
beyond Drive me to the station at nine.
beyond Teach me how to play the piano.
act delete my account with all its data
act cancel every order that I have open
act erase my whole purchase history
act give up my loyalty points for good
"""
