// Package scripted is a model that plays a script, for tests of code that uses models and for
// programs that show a conversation without one.
//
// A script is a list of turns, played one after another. A turn is a text, calls of tools, an
// error, or a function of the request. Responses are streamed in small pieces like those of a real
// model. Every request is kept, and checked like a strict provider would ([model.Check]): an
// invalid one gets an error of status 400 instead of the turn.
package scripted
