export const shellWord = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
