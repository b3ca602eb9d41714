// Package responses implements the Responses API of OpenAI, which other providers support too. Any
// server works that has /responses below a base URL.
//
// The provider stores nothing: every request has the whole conversation and store: false. Reasoning
// comes back encrypted and is kept unchanged. It is sent back to the same provider together with
// the items that followed it. Without these items it is omitted, because the provider would refuse
// it. Tools are not strict, so that schemas are sent unchanged.
//
// A part that a server refuses (a tool, temperature, encrypted reasoning) is omitted from then on.
// The API has no stop sequences, so those of a request are not sent.
package responses
