// Package launch connects to servers: from an entry of a configuration, an address or a command line to a connection. On the way are the
// user's consent, the lock, the sandbox, logins, secrets and the marks by which a chain of gateways finds that it starts itself.
//
// [Launcher.Read] reads a configuration, and [Launcher.Connect] connects to the server of an entry. A gateway asks for the consent to all servers
// at once with [Launcher.Admit], and makes the [Target] of each, and [Launcher.Options] and [Dial] for a client, whenever it connects. The user is asked through
// a [Prompter]. The zero Launcher asks nothing, starts no server of a project that is not named, and keeps logins, secrets, locks and consents in the
// folders of this user, as junction does.
package launch
