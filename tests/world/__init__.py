"""An installation in memory, for tests. Begin with `world`; `stories` say what is in a file, `engine` is the job."""
