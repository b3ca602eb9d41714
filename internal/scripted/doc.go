// Package scripted implements a model that plays a script. Tests of code that uses models use it,
// and so do programs that demonstrate a conversation without a real model.
//
// A script is a list of turns, which are played one after the other. A turn is a text, calls of
// tools, an error, or a function of the request. Responses are streamed in small pieces, as by a
// real model. The model stores every request and checks it as a strict provider does
// ([model.Check]). For an invalid request it returns an error with status 400 and plays no turn.
package scripted
