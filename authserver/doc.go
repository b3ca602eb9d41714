// Package authserver is a small authorization server for one gateway (basic/authorization): its users log in on a
// page and allow a client, which gets tokens for that gateway by the authorization code flow with PKCE. Clients make
// themselves known, by registration (RFC 7591) or by a document that they publish; with a key they sign who they are
// (private_key_jwt), and bind their tokens to one (DPoP, RFC 9449). Nothing else is taken: no other grant, no client with
// a secret.
//
// Its protocol is that of package op of github.com/zitadel/oidc, which logs with the default logger of log/slog: what
// clients get wrong as a warning, and its routes as information.
package authserver
