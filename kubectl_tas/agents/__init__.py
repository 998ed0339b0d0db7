"""What an agent asks of a repository before it commits: answers of commands, bounded, that write nothing."""
