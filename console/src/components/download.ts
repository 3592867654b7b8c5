export function download(name: string, parts: string[]): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob(parts))
  link.download = name
  link.click()
  // The browser has taken the content over by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
