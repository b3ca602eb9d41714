// Package launch connects to servers: from an entry of a configuration, an address or a command line to a transport. On the way are the
// user's consent, the lock, the sandbox, logins, secrets and the marks by which a chain of gateways finds that it starts itself.
package launch
