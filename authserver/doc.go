// Package authserver implements a small authorization server for one gateway (basic/authorization).
// Users log in on a page and allow a client, which then gets tokens for the gateway by the
// authorization code flow with PKCE. Clients register (RFC 7591) or publish a document. A client
// with a key authenticates by signed assertions (private_key_jwt), and it can bind its tokens to a
// key (DPoP, RFC 9449). Other grants and clients with a secret are not supported.
//
// Package op of github.com/zitadel/oidc implements the protocol. It logs to the default logger of
// log/slog: mistakes of clients as warnings, and its routes as information.
package authserver
