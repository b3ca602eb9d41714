// Package edit changes what the tools, prompts and resources of a server look like to clients: which of them there
// are, what they are for, which tags they have, and which arguments of tools are given already. It stands around one server, so that rules and the audit
// log behind it see the arguments that the server gets. Other names are the gateway's business.
package edit
