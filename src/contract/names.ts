/** Names that can stand in a URL as they are, and that no UUID can be taken for. */
export const projectNamePattern = /^[a-z0-9](?:[a-z0-9-]{0,126}[a-z0-9])?$/
