import { Button, FileButton, Group, Text, Textarea } from '@mantine/core'
import { IconFile } from '@tabler/icons-react'
import { type DragEvent, useState } from 'react'
import { textOfFile } from '../../keys/file.ts'

/** No key that is taken comes near this size, in bytes. */
const largestFile = 64 * 1024

/** Takes a key as text, as a file that is dropped, or as a file that is picked. */
export function KeyField({ text, onText }: { text: string; onText(text: string): void }) {
  const [dropping, setDropping] = useState(false)
  const [fault, setFault] = useState<string>()

  async function take(file: File | null | undefined) {
    if (file === null || file === undefined) return
    setFault(undefined)
    try {
      if (file.size > largestFile) throw new Error('is far too large for a key.')
      onText(textOfFile(new Uint8Array(await file.arrayBuffer())))
    } catch (error) {
      setFault(`${file.name} ${error instanceof Error ? error.message : 'cannot be read.'}`)
    }
  }
  function drop(event: DragEvent) {
    event.preventDefault()
    setDropping(false)
    void take(event.dataTransfer.files[0])
  }
  return (
    <fieldset
      className={dropping ? 'dropping' : undefined}
      onDragOver={(event) => {
        event.preventDefault()
        setDropping(true)
      }}
      onDragLeave={() => setDropping(false)}
      onDrop={drop}
      aria-label="Public key, as text or as a file"
    >
      <Textarea
        label="Public key"
        description="Paste it, or drop a file here. PEM is taken; a certificate or a JWK can be converted here."
        placeholder={
          '-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A…\n-----END PUBLIC KEY-----'
        }
        rows={9}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 13 } }}
        value={text}
        onChange={(event) => onText(event.currentTarget.value)}
        error={fault}
        spellCheck={false}
        autoComplete="off"
        data-autofocus
      />
      <Group gap="sm" mt={6}>
        <FileButton onChange={(file) => void take(file)}>
          {(props) => (
            <Button {...props} variant="default" size="xs" leftSection={<IconFile size={14} />}>
              Choose a file
            </Button>
          )}
        </FileButton>
        <Text size="xs" c="dimmed">
          From a private key: <span className="mono">openssl pkey -in private.pem -pubout</span>
        </Text>
      </Group>
    </fieldset>
  )
}
