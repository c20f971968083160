import './app/mantine';
import './app/tokens.css';
import { MantineProvider } from '@mantine/core';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app/App';
import { watchHistory } from './app/leaving';
import { theme } from './app/theme';

const root = document.getElementById('root');
if (!root) throw new Error('index.html has no #root');

// Before the router listens.
watchHistory();

createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto">
      <App />
    </MantineProvider>
  </StrictMode>,
);
