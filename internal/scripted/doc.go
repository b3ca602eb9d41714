// Package scripted is a model that says what its script holds: for tests of what
// is built on models, and for programs that show a conversation without one.
//
// A script is a list of turns, played one after another. A turn is a text, calls
// of tools, an error, or a function of the request. Answers are streamed in
// small pieces, as a real model's are, and every request is kept, and checked as
// a strict provider would ([model.Check]): one that is not valid gets an error
// of status 400 in place of the turn.
package scripted
