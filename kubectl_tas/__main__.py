"""``python -m kubectl_tas``: the same entry point as the ``kubectl-tas`` script."""

from kubectl_tas.cli.main import main

if __name__ == "__main__":
    main()
