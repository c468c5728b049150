"""Coding requirements: what a service is written in, for how many, who may log in and where its data lies."""

TABLE = r"""
title coding requirements
field stack critical required
noun the language
ask What language should it be written in? / Which stack do you want?
cues (?:tech(?:nology)? )?stacks?|(?:what|which)(?: programming)? languages?(?! version)|programming languages?
cues frameworks?|written in|python|typescript|(?:what|which) (?:technology|technologies|tech)|build it (?:in|with)
cues code it in
weak languages?
value python: in Python / a Python code base / Python, please, as ever / with Python under the hood
also python: Python / please use Python
value typescript: in TypeScript / a TypeScript code base
value typescript: TypeScript, please, as ever / with TypeScript under the hood
also typescript: TypeScript / please use TypeScript
value go: in Go / a Go code base / Go, please, as ever / with Go under the hood
also go: Go / please use Go
value java: in Java / a Java code base / Java, please, as ever / with Java under the hood
also java: Java / please use Java
value rust: in Rust / a Rust code base / Rust, please, as ever / with Rust under the hood
also rust: Rust / please use Rust
field scale critical required
noun the number of users
ask How many users will it have? / What scale should it handle?
cues how many (?:users|people|requests|customers|visitors|concurrent \w+|clients)|scale|number of users
cues user (?:base|numbers?|count)|traffic|load|how (?:big|large|much traffic|busy|popular)|audience size|volume
cues concurrent
weak users?|requests|team
value one team: for one team / for a dozen colleagues / just our own group uses it / a single team of users
also one team: just our group / users from a single team
value one company: for one company / for a few hundred colleagues / all of our staff use it / some hundreds of users
also one company: all the staff / hundreds of colleagues use it
value thousands: for thousands of users / for some thousand customers
value thousands: a few thousand people use it / thousands log in
also thousands: thousands of people / a few thousand log in
value millions: for millions of users / for a million customers and more / millions of people use it / millions log in
also millions: millions of people / a few million log in
field auth critical required
noun the login
ask How should users log in? / What kind of authentication do you need?
cues auth(?:entication|orization|enticate)?|log ?ins?|logs? (?:in|on)|sign(?:s|ing)? (?:in|on)|sso|single sign-on
cues passwords?|credentials|identit(?:y|ies)|access control|oauth|accounts?|secured?|who (?:can|may) access
value none: without a login / nobody has to log in / open to all, no login / no authentication
also none: open to all / authentication is not needed
value password: with a password / log in by name and password / user name plus password / passwords for everybody
also password: a user name and a password / passwords
value single sign-on: with single sign-on / log in through the company account
value single sign-on: our SSO does it / one login for all our tools
also single sign-on: SSO, please / one login for all the tools
value api key: with an API key / each client sends a key / keys in the header / a secret key for each client
also api key: a key in the header / a secret key each
value passkey: with a passkey / log in by fingerprint or face / a passkey on the phone / no password but a passkey
also passkey: passkeys / a passkey, not a password
field datastore critical required
noun the storage
ask Where should the data be stored? / What kind of database do you want?
cues data(?: ?)bases?|data(?: ?)stores?|storage|stored?|persist(?:ed|ence)?|postgres|sql
cues where (?:does|do|should|will|is) (?:the |your |its )?data|data|db|saved?
cues keep (?:any |the |its |your )?(?:data|records)
value relational: in a relational database / tables with SQL / rows and columns / a classic SQL database
also relational: SQL, rows and columns / a classic database with tables
value document: in a document store / JSON documents / whole documents as records / a database of documents
also document: records are documents / a database with JSON documents
value key-value: in a key-value store / simple keys and values / look-ups by key only / a plain key to value map
also key-value: look-ups by a key / a map from key to value
value in memory: only in memory / nothing on disk / kept in RAM / gone when it restarts
also in memory: in RAM / gone after a restart
value none: without any storage / it stores nothing / no data is kept / stateless
also none: no data / nothing is stored, it is stateless
field deployment_target critical
noun where it runs
ask Where should it run? / What is the deployment target?
cues deploy(?:ed|ment|ing|s)?(?: \w+)?|hosted|host(?:ing)?
cues where (?:should|will|does|do|is) (?:it|this|you|we|the (?:service|app|code|api))(?: (?:run|be|running|going))?
cues runs?|servers?|cloud|kubernetes|containers?|infrastructure
weak environment|target|platform|server
value container: in a container / as a container image / one image for any host / shipped as an image
also container: an image for any host / container images are shipped
value virtual machine: on a virtual machine / on a rented VM / a VM of our own / one virtual server
also virtual machine: our own VM / a virtual server
value serverless: serverless / as cloud functions / functions on demand / no servers of our own
also serverless: on demand, no servers / no server to run, just functions
value kubernetes: on Kubernetes / in our k8s cluster / as pods in the cluster / in a Kubernetes cluster
also kubernetes: in the cluster, as pods / a Kubernetes cluster it is
value bare metal: on bare metal / on our own hardware / right on a physical machine / on the box in our rack
also bare metal: a physical machine / a box in the rack, our hardware
field language_version
noun the version
ask Which version of the language should it be? / How new may the language be?
cues versions?|(?:language|python|java|go|rust|compiler|runtime) versions?|releases?|how (?:new|old|recent)|lts
cues up.to.date|minimum version|runtime
value newest: the newest version / whatever is out now / the very last release / the latest there is
also newest: the last release, the latest / the very newest there is
value long-term support: a long-term support version / the LTS release / the one with long support / an LTS version
also long-term support: with long support / an LTS one, long-term
value one before: the version before the newest / one release behind
value one before: the last but one release / not the latest but the one before
also one before: the last but one / one before the latest
value oldest supported: the oldest version that is supported / as old as is still maintained
value oldest supported: the earliest maintained release / the most ancient one still supported
also oldest supported: the earliest that is supported / ancient, the oldest one still maintained
field test_coverage
noun the tests
ask How well should it be tested? / What test coverage do you want?
cues tests?|tested|testing|(?:test )?coverage|unit tests?|how (?:well|thoroughly)(?: should it be)? tested|quality bar
value none: without tests / no tests for now / tests can wait / not a single test
also none: no single test / tests not now
value smoke: with smoke tests / only a few basic tests / just a smoke test or two / a handful of quick tests
also smoke: a smoke test / just a handful of tests
value 80 percent: with 80 percent covered / tests for four fifths of it / 80 % coverage / at least 80 percent tested
also 80 percent: 80 % / tested for at least 80 percent
value full: with every line covered / tests for all of it / 100 % coverage / completely tested
also full: 100 % / all of it tested, completely
say Build me a web service, {facts}.
say I need a backend: {facts}.
say Write an API for us, {facts}.
say Please code a small server, {facts}.
say We want an internal tool: {facts}.
say Start a new project for me, {facts}.
say Implement a service, {facts}.
say There is an app to write: {facts}.
say Set up a code base: {facts}.
say Could you program a service for us: {facts}?
say Draft the code of a new API, {facts}.
say A backend has to be written, {facts}.
beyond Water the plants on my balcony.
beyond Recommend a good dentist in my town.
beyond Cook dinner for my family.
beyond Who painted the Mona Lisa?
beyond Knit me a scarf for the winter.
beyond Rent a car for my trip.
act drop the production database
act delete the old repository with its history
act overwrite the main branch by force
act remove all backups of the old service
"""
