workflow=prepare
