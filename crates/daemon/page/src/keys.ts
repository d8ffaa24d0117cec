// Keyboard input.

/** Returns whether a key belongs to a word that an input method is composing. Safari sends the key that ends the composition afterwards, recognizable only by its code. */
export const composing = (event: KeyboardEvent): boolean => event.isComposing || event.keyCode === 229;
