// Package ink represents styled text for a terminal: spans with a meaning, lines that fit a width,
// and themes that map meanings to colours.
//
// A style names a meaning (code, a warning, a quote). So one rendering serves every theme, and
// tests compare plain text. [Theme.Paint] is the only way to a terminal, and cleans the text
// (package plaintext). Its result has no escape sequences except those of the theme, whatever a
// server or a model wrote.
package ink
