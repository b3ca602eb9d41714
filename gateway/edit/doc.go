// Package edit changes how clients see the tools, prompts and resources of a server: which of them
// exist, their titles, descriptions and tags, and which arguments of tools are preset. It wraps one
// server, so that rules and the audit log behind it see the arguments that the server gets. The
// gateway changes names.
package edit
