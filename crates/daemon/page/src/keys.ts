// Keys, as the page takes them.

/** Whether a key belongs to a word that an input method is still writing. Safari tells of the key that ends the word only once it is written, and by its code alone. */
export const composing = (event: KeyboardEvent): boolean => event.isComposing || event.keyCode === 229;
