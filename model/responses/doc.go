// Package responses speaks the Responses API of OpenAI, which others have taken up:
// any server that answers at URL/responses, by a base URL.
//
// Nothing is kept at the provider: every request has the whole conversation and says
// store: false. What the model thought comes back encrypted, is kept as it came and
// goes back to the same provider with what followed it; without that it is left out,
// as the provider refuses it. Tools are not strict, so that schemas go as they are.
//
// What a server turns out not to take (a tool, temperature, encrypted reasoning) is
// left out from then on. The API has no stop sequences, so a request's are not sent.
package responses
