// Package responses speaks the Responses API of OpenAI, which other providers support too: any
// server with a base URL and /responses below it.
//
// The provider stores nothing: every request has the whole conversation and store: false. Reasoning
// comes back encrypted, is kept unchanged, and is returned to the same provider with the items that
// followed it. Without these it is omitted, because the provider refuses it. Tools are not strict,
// so that schemas are sent as they are.
//
// A part that a server refuses (a tool, temperature, encrypted reasoning) is omitted from then on.
// The API has no stop sequences, so those of a request are not sent.
package responses
