import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const server = process.env.KARST_URL ?? 'http://localhost:8000';

export default defineConfig({
  plugins: [react()],
  build: {
    target: 'es2022',
    assetsDir: 'assets',
    chunkSizeWarningLimit: 700,
  },
  server: {
    port: 5173,
    proxy: {
      '/services': { target: server, secure: false },
      '/servicesNS': { target: server, secure: false },
      '/api': { target: server, secure: false },
      '/static': { target: server, secure: false },
    },
  },
});
