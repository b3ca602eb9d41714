// Package launch connects to servers. It turns an entry of a configuration, an address or a command
// line into a connection. To do so, it handles the user's consent, locks, sandboxes, logins and
// secrets. Marks in the environment prevent a gateway from starting itself.
//
// [Launcher.Read] reads a configuration, and [Launcher.Connect] connects to the server of an entry.
// A gateway instead asks for consent to all its servers at once with [Launcher.Admit]. For each
// connection it then makes a [Target], gets [Launcher.Options], and calls [Dial].
//
// A [Prompter] asks the user. The zero Launcher has no Prompter, so it starts no server of a
// project unless [Launcher.Config] names the project's file. Like the command junction, it keeps
// logins, secrets, locks and consents in the folders of the current user.
package launch
