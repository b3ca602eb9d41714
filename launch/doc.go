// Package launch connects to servers: from an entry of a configuration, an address or a command line to
// a connection. On the way are the user's consent, the lock, the sandbox, logins, secrets, and the marks
// that reveal a gateway which starts itself.
//
// [Launcher.Read] reads a configuration, and [Launcher.Connect] connects to the server of an entry. A
// gateway asks for the consent to all servers at once with [Launcher.Admit]. For each connection it makes
// a [Target] and [Launcher.Options], and calls [Dial].
//
// A [Prompter] asks the user. The zero Launcher has no user, starts no server of a project that is not
// named, and keeps logins, secrets, locks and consents in the folders of this user, as junction does.
package launch
