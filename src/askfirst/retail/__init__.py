"""A retailer's database, its sixteen tools and its published tasks and reward.

    world = folder.published(path)          # World: users, orders, products, policy, tool schemas
    world = World.of(tables, policy, tools) # the same from plain JSON values, validated
    db = Database(world)                    # an episode's own copy, made in no time
    text = call(db, name, arguments)        # what a tool says; always a text, never an error
    db.sha256(); db.touched                 # of the whole database; (table, id) of what differs from the world
    tools.TOOLS[name].kind                  # READ, WRITE or END
    task = folder.tasks(path, "test")[0]    # Task: id, user_id, instruction, actions, outputs
    published.judge(task, db, said)         # Outcome: the published reward and what it is made of

Written from `docs/retail.md`, which says where the facts come from.
"""
