"""Medical intake: what hurts, since when and how badly. It collects facts for a form and gives no advice."""

TABLE = r"""
title medical intake
field primary_symptom critical required
noun the complaint
ask What is the main complaint? / What symptom brings you here?
cues (?:what|which) (?:symptoms?|complaints?)|symptoms?|complaints?|where does it hurt|what hurts
cues what brings you(?: in| here)?
cues what(?:'s| is| seems to be) (?:wrong|bothering you|troubling you|the (?:matter|problem|trouble|issue))
cues what (?:are you|do you) (?:suffering from|suffer from|feel|feeling)|how are you feeling|how do you feel
cues what kind of pain
weak pain|hurts?
cues what(?:'s| is) (?:going on|up)|reason for (?:the|your) visit|what can we help you with
value headache: a headache / my head is pounding / pain in my head / a splitting head
also headache: my head hurts / a pain in the head
value cough: a cough / I keep coughing / a nasty cough / coughing all the time
also cough: coughing / I cough all the time, nasty
value fever: a fever / I am running a temperature / my temperature is up / a high temperature
also fever: a temperature / my temperature is high
value back pain: back pain / my back hurts / an aching back / pain in the lower back
also back pain: my back aches / an ache in the lower back
value stomach ache: a stomach ache / my belly hurts / pain in the stomach / cramps in my belly
also stomach ache: my stomach hurts / cramps in the stomach
value rash: a rash / red itchy spots / my skin is full of spots / itchy patches on my skin
also rash: itchy skin / spots on my skin / itchy patches
value dizziness: dizziness / I feel dizzy / the room keeps turning / I get light-headed
also dizziness: everything keeps turning / light-headed and dizzy
field duration critical required
noun how long it has lasted
ask How long have you had it? / Since when has it been like this?
cues how long|since when|when did (?:it|this|that|the \w+) (?:start|begin|first)
cues how many (?:days|weeks|months|hours)|durations?|when (?:was|is) (?:the )?(?:onset|first)|for how long|started
cues onset|(?:did|does) (?:it|this) (?:begin|start)|how long ago
weak when|begin|last(?:ed)?
value hours: for a few hours / since this morning / it started hours ago / only since breakfast
also hours: hours ago / since breakfast, a few hours
value days: for a few days / since the day before yesterday / it started days ago / three days now
also days: days ago / three days or so
value a week: for a week / since this day last week / it started a week ago / seven days now
also a week: a week ago / seven days
value weeks: for some weeks / since early last month / it started weeks ago / three weeks now
also weeks: weeks ago / three weeks or so
value months: for months / since last season / it started months ago / half a year now
also months: months ago / half a year or so
field severity critical required
noun how bad it is
ask How bad is it? / How severe is it?
cues how (?:bad|severe|strong|intense|serious|painful|much (?:does it hurt|pain))(?: \w+ \w+ pain)?|severity
cues scale (?:of|from)|(?:pain )?level|mild|unbearable|rate (?:it|the|your)(?: pain)?|intensity|bearable
value mild: it is mild / I hardly notice it / quite mild / not bad at all
also mild: not bad / it is not so bad, quite mild
value moderate: it is moderate / it bothers me a good deal / moderately bad / in between, not mild and not severe
also moderate: in between / moderately so
value severe: it is severe / I can hardly bear it / really severe / as bad as it gets
also severe: really bad / as bad as can be
field age_band critical
noun the age
ask How old is the patient? / What age group are you in?
cues how old|ages?|age (?:group|band|range)|(?:date|year) of birth|when were you born|born
weak adult|child
value child: for a child under 13 / my child is eight / she is a girl of six / he is a boy of nine
also child: she is a girl of eight / he is a boy of seven
value teenager: for a teenager / my son is fifteen / she is a girl of sixteen / he is a boy of fourteen
also teenager: she is a girl of fourteen / he is a boy of fifteen
value adult: for an adult / I am forty / she is a woman of thirty / he is a man of fifty
also adult: she is a woman of forty / he is a man of thirty
value over 65: for somebody over 65 / I am seventy-one / she is a lady of eighty / he is a man of seventy
also over 65: she is a lady of seventy / he is a man of eighty
field prior_conditions
noun other illnesses
ask Are there any other illnesses? / Do you have any prior conditions?
cues (?:prior|pre-?existing|other|known|chronic|previous|past)(?: \w+)? (?:conditions?|illness(?:es)?|diseases?)
cues conditions?|medical history|illness(?:es)?|diseases?|diagnosed|health history|history
value none: otherwise healthy / no other illness / nothing else on my record / no earlier trouble
also none: nothing on the record / no trouble earlier
value asthma: with asthma / asthma since childhood / I have had asthma for years / an asthmatic
also asthma: asthma for years / I am asthmatic
value diabetes: with diabetes / sugar trouble, diabetes / I have had diabetes for years / a diabetic
also diabetes: diabetes for years / I am diabetic
value high blood pressure: with high blood pressure / hypertension on record
value high blood pressure: my blood pressure is too high / a known case of high blood pressure
also high blood pressure: the blood pressure is high / pressure of the blood above normal
value allergy: with an allergy to pollen / hay fever every spring
value allergy: pollen does not agree with me / a known pollen allergy
also allergy: a pollen allergy / pollen troubles me
field medications
noun medicines
ask Do you take any medicines? / What medication are you on?
cues medications?|medicines?|meds|drugs?|pills?|tablets?|prescriptions?|prescribed
cues (?:what|anything) (?:are|do) you tak(?:e|ing)|taking anything|painkillers?|take anything
value none: no medicines / I take nothing / not on anything / without any pills
also none: no pills / not on medicines
value painkillers: on painkillers / I take ibuprofen / painkillers twice a day / some paracetamol each day
also painkillers: painkillers, some paracetamol / painkillers now and then, twice today
value antibiotics: on antibiotics / I am taking penicillin / antibiotics since yesterday / a course of amoxicillin
also antibiotics: a course of antibiotics / since yesterday penicillin or amoxicillin
value blood thinners: on blood thinners / I take warfarin / blood thinners each evening / anticoagulants every day
also blood thinners: blood thinners every day / anticoagulants, warfarin
say I am not well: {facts}.
say I need to see somebody about this: {facts}.
say Please take down my case. {facts}.
say I would like an appointment, {facts}.
say Something is not right with us here, {facts}.
say This is for the intake form: {facts}.
say Can a doctor have a look? {facts}.
say Here is what to write on the form: {facts}.
say I would like to be seen soon: {facts}.
say Could you register us? {facts}.
say Please put this in the file: {facts}.
say Note this for the doctor, {facts}.
beyond Please repair the brakes of my bicycle.
beyond Book a table for two tonight.
beyond Compose a birthday song for my niece.
beyond How do I bake sourdough bread?
beyond Which phone should I buy?
beyond Mow the lawn behind my house.
act delete the whole file of my earlier visits
act cancel all appointments that I have
act destroy the samples that you still hold
act erase my consent from the register
"""
