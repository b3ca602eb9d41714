// Package policy decides which calls may run: it allows them, asks about them or
// denies them, by rules that people write, and says which rule decided and why.
//
// # Rules
//
// A [Rule] has an effect, patterns for server and tool, and a condition:
//
//	{
//	  "rules": [
//	    // The folder of this project may be written to.
//	    {"effect": "allow", "server": "files", "tool": "write_file", "when": "under(args.path, '/home/ada/project')"},
//	    {"effect": "deny", "server": "files", "tool": "delete_*", "reason": "nothing is deleted here"},
//	    {"effect": "ask", "when": "'untrusted' in labels && !annotations.readOnly"},
//	  ],
//	  "default": "ask",
//	}
//
// Of the rules that match a call the strictest decides, wherever it stands, in a file or in
// the session: deny before ask before allow. So a ban is one, and an exception to a rule
// that denies or asks is written into its condition.
//
// # Conditions
//
// A condition is an expression in CEL (https://cel.dev) that is true or false:
//
//	method       string           tools/call, resources/read, …
//	server       string           the server's configured name
//	tool         string           the tool's name; empty for other requests
//	title        string           what people read in its place
//	args         map              the arguments; a member that is missing is an error, has(args.x) asks
//	annotations  object           readOnly, destructive, idempotent, openWorld, with the
//	                              specification's defaults; has() tells whether the server said it
//	resource     string           the URI of a resource
//	principal    object           subject, issuer, scopes
//	labels       list of strings  what the call's data holds, such as untrusted
//	sources      list of strings  the servers whose output reached the call
//	trusted      bool             whether the person trusts the server's claims
//	client       string           the name of the program that calls, without its version
//	profile      string           the part of a gateway that the call came to
//	now          timestamp        when, such as now.getHours('Europe/Berlin') < 18
//
// In addition to CEL's own functions (contains, startsWith, matches, size, in, …) there are:
//
//	glob(text, pattern)   whole text; * is any characters, slashes too, ? is one
//	under(path, folder)   path is the folder or in it; an error where that is not certain:
//	                      with "..", of a network, with a backslash where folders are
//	                      separated by slashes, or if one of both is relative. Case counts
//	                      where the file system says so
//	host(url)             the host of a URL, in small letters and ASCII, an address as 127.0.0.1;
//	                      an error without one, or where programs disagree
//	text.lowerAscii()     the text with small letters for A to Z
//
// A condition that fails never lets a call through: an allow does not apply, and a deny
// or ask makes the decision Ask at least. Integers are exact up to 64 bits, however they are
// written; other numbers are doubles. Where one was rounded to become that, no condition on args
// allows the call.
//
// # What is built in
//
// While the default is Ask, tools/call is allowed for a tool whose definition says that it is
// read-only, of whatever server. Everything else that no rule is about is asked about.
//
// # Files of others
//
// The rules of a project come from whoever wrote the repository. [LoadOptions].Tighten
// takes only what makes decisions stricter from them.
package policy
