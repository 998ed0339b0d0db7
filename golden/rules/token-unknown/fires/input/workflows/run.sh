train --master={{host:mastre}}
