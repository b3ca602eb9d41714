// Package edit changes how clients see the tools, prompts and resources of a server. It selects the
// entries, changes their titles, descriptions and tags, and presets arguments of tools. It wraps
// one server, so that rules and the audit log behind it see the arguments that the server gets. The
// gateway itself changes names.
package edit
