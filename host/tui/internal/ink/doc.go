// Package ink is styled text on its way to a terminal: spans with a meaning,
// lines that fit a width, and themes that give meanings a look.
//
// A style says what a text is (code, a warning, a quote), not how it looks, so
// that one rendering serves every theme and the tests of a screen are plain text.
// [Theme.Paint] is the only way from here to a terminal, and it cleans what it
// paints (package plaintext): whatever a server or a model wrote, the only escape
// sequences in the result are those of the theme.
package ink
