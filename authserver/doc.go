// Package authserver implements a small authorization server for one gateway (basic/authorization).
// Its users log in on a page and allow a client, which gets tokens for that gateway by the
// authorization code flow with PKCE. Clients register (RFC 7591) or publish a document. With a key
// they authenticate by signed assertions (private_key_jwt) and bind their tokens to the key (DPoP,
// RFC 9449). No other grants are supported, and no clients with a secret.
//
// The protocol is implemented by package op of github.com/zitadel/oidc, which logs to the default
// logger of log/slog: clients' mistakes as warnings, and its routes as information.
package authserver
