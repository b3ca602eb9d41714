// Package policy decides which calls may run. Users write rules that allow calls, deny them or ask
// the user about them. A decision names the rule that decided and the reason.
//
// # Rules
//
// A [Rule] has an effect, patterns for server and tool, and a condition:
//
//	{
//	  "rules": [
//	    // Programs may write to the folder of this project.
//	    {"effect": "allow", "server": "files", "tool": "write_file", "when": "under(args.path, '/home/ada/project')"},
//	    {"effect": "deny", "server": "files", "tool": "delete_*", "reason": "nothing is deleted here"},
//	    {"effect": "ask", "when": "'untrusted' in labels && !annotations.readOnly"},
//	  ],
//	  "default": "ask",
//	}
//
// Of the rules that match a call, the strictest decides: deny before ask before allow. The order of
// the rules and their files have no influence. So no other rule can make an exception to a rule
// that denies or asks. Put the exception into the condition of that rule.
//
// A rule that asks can name a role with "of", such as {"effect": "ask", "of": "role:sre"}. Callers with
// the role then decide in place of the user. If rules ask several roles, all must approve the call; see
// [Decision.Approvals].
//
// # Conditions
//
// A condition is an expression in CEL (https://cel.dev) that is true or false:
//
//	method       string           tools/call, resources/read, …
//	server       string           the server's configured name
//	tool         string           the tool's name; empty for other requests
//	title        string           the name that users see in its place
//	args         map              the arguments; a missing member is an error, has(args.x) tests for it
//	annotations  object           readOnly, destructive, idempotent, openWorld, with the
//	                              specification's defaults; has() tests whether the server set it
//	resource     string           the URI of a resource
//	principal    object           subject, issuer, scopes, groups
//	labels       list of strings  properties of the call's data, such as untrusted
//	sources      list of strings  the servers whose output reached the call
//	trusted      bool             whether the user trusts the server's claims
//	client       string           the name of the calling program, without its version
//	profile      string           the part of a gateway that the call came to
//	now          timestamp        the time, as in now.getHours('Europe/Berlin') < 18
//
// In addition to CEL's own functions (contains, startsWith, matches, size, in, …) there are:
//
//	glob(text, pattern)   matches the whole text; * is any characters, slashes too, ? is one
//	under(path, folder)   path is the folder or in it; an error if that is not certain:
//	                      with "..", of a network, with a backslash where folders are
//	                      separated by slashes, or if only one of them is relative. Case
//	                      matters as in the file system
//	host(url)             the host of a URL, in small letters and ASCII, an address as 127.0.0.1;
//	                      an error without one, or where programs disagree
//	text.lowerAscii()     the text with small letters for A to Z
//
// A condition that fails never lets a call run: an allow does not apply, and a deny or ask makes
// the decision at least Ask. Integers of up to 64 bits are exact in every notation; other numbers
// are converted to doubles. If that rounds a number of args, no condition that uses args allows the
// call.
//
// # Built-in rule
//
// If the default is Ask, a built-in rule allows tools/call for each tool whose definition claims
// that the tool is read-only. The user is asked about all other calls that match no rule.
//
// # Files of others
//
// The authors of a repository write the rules of a project. [LoadOptions].Tighten accepts only
// rules that make decisions stricter.
package policy
