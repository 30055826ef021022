from autograde.cli import main

main()
