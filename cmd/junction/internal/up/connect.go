package up

// AnyURL is a flag without its URL: that of a junction up that runs.
const AnyURL = "auto"
