// Package edit changes what the tools of a server look like to clients: which of them there are, what they
// are for, and which arguments are given already. It stands around one server, so that rules and the audit
// log behind it see the arguments that the server gets. Other names are the gateway's business.
package edit
