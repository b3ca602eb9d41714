// Package inspect is the server side of the console's inspector: connections to servers whose setup
// and messages a user wants to see. It is an API over HTTP in JSON, with a stream of events for
// each connection: the steps of connecting, every message, notifications and requests of the
// server, and the results of requests.
//
// The owner of an [Inspector] decides how a server is reached: its Open knows the configuration,
// logins and rules.
package inspect
