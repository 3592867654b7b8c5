import { Button, FileButton, Group, Text } from '@mantine/core'
import { IconFile } from '@tabler/icons-react'
import { type DragEvent, useState } from 'react'
import { TextArea } from '../../forms/text-fields.tsx'
import { readKeyFile } from '../../keys/file.ts'

/** In bytes; larger than any key that the service accepts. */
const maxFileSize = 64 * 1024

// Long because pasting, dropping and choosing a file share the error.
/** Accepts a key as pasted text, as a dropped file, or as a chosen file. */
export function KeyField({ text, onText }: { text: string; onText(text: string): void }) {
  const [dropping, setDropping] = useState(false)
  const [error, setError] = useState<string>()

  async function load(file: File | null | undefined) {
    if (file === null || file === undefined) return
    setError(undefined)
    try {
      if (file.size > maxFileSize) throw new Error('is too large for a key.')
      onText(readKeyFile(new Uint8Array(await file.arrayBuffer())))
    } catch (cause) {
      setError(`${file.name} ${cause instanceof Error ? cause.message : 'cannot be read.'}`)
    }
  }
  function drop(event: DragEvent) {
    event.preventDefault()
    setDropping(false)
    void load(event.dataTransfer.files[0])
  }
  function dragOver(event: DragEvent) {
    event.preventDefault()
    setDropping(true)
  }
  return (
    <fieldset
      className={dropping ? 'dropping' : undefined}
      onDragOver={dragOver}
      onDragLeave={() => setDropping(false)}
      onDrop={drop}
      aria-label="Public key, as text or as a file"
    >
      <KeyTextarea
        text={text}
        onText={(typed) => {
          setError(undefined)
          onText(typed)
        }}
        error={error}
      />
      <Group gap="sm" mt={6}>
        <FileButton onChange={(file) => void load(file)}>
          {(props) => (
            <Button {...props} variant="default" size="xs" leftSection={<IconFile size={14} />}>
              Choose a file
            </Button>
          )}
        </FileButton>
        <Text size="xs" c="dimmed">
          From a private key in PEM:{' '}
          <span className="mono">openssl pkey -in private.pem -pubout</span>
        </Text>
      </Group>
    </fieldset>
  )
}

function KeyTextarea(props: {
  text: string
  onText(text: string): void
  error: string | undefined
}) {
  return (
    <TextArea
      label="Public key"
      description="Paste a key in PEM, or drop a file. Certificates, JWKs, OpenSSH keys, base64 and hexadecimal can be converted here."
      placeholder={
        '-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A…\n-----END PUBLIC KEY-----'
      }
      rows={9}
      styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 13 } }}
      value={props.text}
      onValue={props.onText}
      error={props.error}
      data-autofocus
    />
  )
}
