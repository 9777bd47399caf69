"""`python -m khorovod` runs the program khorovod."""

import sys

from ._binary import main

sys.exit(main())
