// Package inspect is the backend of the console's inspector. It connects to servers whose setup and
// messages a user wants to see. Its HTTP API uses JSON, with a stream of events for each
// connection: the steps of connecting, all messages, notifications and requests of the server, and
// the results of requests.
//
// The creator of an [Inspector] decides how to reach a server: [Options] has a function that knows
// the configuration, logins and rules.
package inspect
